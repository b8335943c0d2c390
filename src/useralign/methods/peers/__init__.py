"""Other people's ways of choosing what to ask, to be compared with the paper's and with ours."""
