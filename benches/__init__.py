"""The benchmark; see `benches/README.md`."""
