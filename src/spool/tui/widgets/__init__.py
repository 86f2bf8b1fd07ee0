"""The widgets of the screens. Each posts its own messages and never reaches upward."""
