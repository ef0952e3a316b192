"""The protobuf messages of A2A 0.3 and 1.0, in a descriptor pool of their own."""
