"""Learners of ranking networks as published, plug-ins of VenMAS (entry points of the group ``venmas.learners``)."""
