"""The ``markscheme`` command: one thin module a subcommand."""
