"""What the tests of signatures share."""

AGENT = "https://bot.example.org"
THUMBPRINT = "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"
