"""The gRPC binding: which rpc is which operation, and messages to the model and back."""
