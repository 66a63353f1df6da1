"""What training teaches: small policies, made and trained here, on tasks whose every step can be judged."""
