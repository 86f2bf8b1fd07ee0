"""Git: the repository, its working trees and their changes."""
