"""The schema's history, one file a version."""
