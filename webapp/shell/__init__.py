"""What serves: the server, its protection, pages by address, files that users upload."""
