"""Each file is one person's hour with the installed wheel, in a real terminal, from the first command to the last."""
