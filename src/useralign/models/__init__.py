"""Models: generators that write candidates, embedders that compute features, and their weights."""
