"""The simulated core group: agents, rings, global memory, and what it finds wrong."""
