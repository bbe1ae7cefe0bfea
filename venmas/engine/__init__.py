"""Verification: modes, the portfolio, replays, certificates, journals; the only maker of a `Report`."""
