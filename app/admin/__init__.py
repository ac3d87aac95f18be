"""What a person asks or orders, one use case a file. The command line is its only caller."""
