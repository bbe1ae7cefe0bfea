"""Writing certificates of ``AG p`` for ever: from an inductive set, whoever found it, to a file that can be checked."""
