"""The report, on a terminal, as Markdown and as one HTML file. All three show the same words."""
