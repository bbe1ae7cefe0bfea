"""The truth of smooth parts: rules of engine and checker, rings, systems and certificates against what shares nothing."""
