"""Certificates of covers."""
