"""Tables 1 and 2 of the VenMAS paper (JAAMAS 2022)."""
