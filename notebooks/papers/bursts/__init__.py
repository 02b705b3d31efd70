"""A study of our own: bursts of on-demand work on a batch machine."""
