package diagnose

// torchRules read the facts of PyTorch's snapshots.
var torchRules []Rule
