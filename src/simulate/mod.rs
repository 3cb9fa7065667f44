//! Worlds, trajectories and sensors with stated noise, all reproducible from a seed.
