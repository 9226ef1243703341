"""The passes of the tensor and tile level, one per file or package."""
