"""Rows of the data: how they are stored, drawn and fetched from memory."""
