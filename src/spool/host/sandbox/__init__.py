"""The sandbox around an agent: bubblewrap, or the sandbox runtime where single hosts are allowed."""
