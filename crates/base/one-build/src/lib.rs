//! Nothing: the features of its dependencies are what it is for, see its manifest.
