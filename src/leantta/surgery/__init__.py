"""Surgery on any model: find what feeds each BatchNorm, plan, fuse, replace."""
