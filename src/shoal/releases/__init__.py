"""What a release is, on disk and in memory: drafted, written, read again and recounted."""
