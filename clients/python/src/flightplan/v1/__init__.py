"""Messages and stubs of the contract, generated from proto/flightplan/v1."""
