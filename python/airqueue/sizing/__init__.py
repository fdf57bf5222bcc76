"""From a description of a network to what to configure on it, with the reason and what to expect."""
