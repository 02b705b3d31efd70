"""Documentation: pages, and what builds them."""
