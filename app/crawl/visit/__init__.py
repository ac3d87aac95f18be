"""A stay at one host: take up ▸ work ▸ park ▸ settle ▸ leave."""
