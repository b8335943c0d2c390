"""Speed and question counts, as ratios against references measured in the same run."""
