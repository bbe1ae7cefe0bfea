"""Planning domains of our own as JANI models, with policies trained on them (``python -m experiments.domains``)."""
