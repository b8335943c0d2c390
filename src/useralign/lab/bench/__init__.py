"""Comparing methods: the same people, the same candidates and the same luck for each."""
