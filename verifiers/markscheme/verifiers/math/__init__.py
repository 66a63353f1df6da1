"""Math answers: notation → grammar → values → equality; computer algebra in a worker that can be killed."""
