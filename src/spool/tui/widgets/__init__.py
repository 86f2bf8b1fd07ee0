"""The parts of the screens. Each says what happened to it in messages of its own and never reaches upward."""
