# PyTorch's own counters over the pretend CUDA, as JSON.
import ctypes, json, os, sys

for path in sys.argv[1:]:
    ctypes.CDLL(path, ctypes.RTLD_GLOBAL)
import torch

cuda = ctypes.CDLL("libcuda.so.1")
cuda.pretend_reads.restype = cuda.pretend_unsupported_calls.restype = ctypes.c_long
MIB = 1 << 20
out = {}


def requested():
    return torch.cuda.memory_stats()["requested_bytes.all.peak"]


def fits(nbytes):
    torch.cuda.empty_cache()
    try:
        torch.empty(nbytes, dtype=torch.uint8, device="cuda")
        return True
    except torch.cuda.OutOfMemoryError:
        return False


out["capability"] = torch.cuda.get_device_capability()
x = torch.zeros(1000, 1000, device="cuda")
out["zeros"] = requested()
y = x @ x
out["matmul"] = requested() - out["zeros"]  # the result, and the workspace of cuBLAS
del y
torch._C._cuda_clearCublasWorkspaces()
del x
torch.cuda.empty_cache()
free, total = torch.cuda.mem_get_info()
out["free"], out["total"] = free, total
rest = free // (2 * MIB) * 2 * MIB
out["the rest fits"], out["2 MiB more fit"] = fits(rest), fits(rest + 2 * MIB)
out["reserved"] = torch.cuda.memory_reserved()

layer = torch.nn.TransformerEncoderLayer(64, 4, batch_first=True, device="cuda")
optimizer = torch.optim.AdamW(layer.parameters())
for _ in range(2):
    layer(torch.randn(2, 16, 64, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
table = torch.zeros(100, 8, device="cuda", requires_grad=True)
torch.nn.functional.embedding(torch.zeros(8192, dtype=torch.long, device="cuda"), table).sum().backward()
table.detach().sort(), torch.randperm(50_000, device="cuda"), table.detach().flatten().cumsum(0)
notes = os.listdir(os.environ["PRETEND_DIR"])
out["notes of training"] = notes
out["written by the host"] = torch.tensor([3, 4], device="cuda").tolist()
out["reads of a training step"] = cuda.pretend_reads()
out["refused by a training step"] = cuda.pretend_unsupported_calls()
out["item"] = torch.ones((), dtype=torch.long, device="cuda").item()
out["nonzero"] = len(torch.ones(8, device="cuda").nonzero())
out["reads"] = cuda.pretend_reads()
torch.cuda.Event(enable_timing=True)
torch.fft.rfft(torch.zeros(64, device="cuda"))
torch.nn.functional.conv2d(torch.zeros(1, 3, 8, 8, device="cuda"), torch.zeros(4, 3, 3, 3, device="cuda"))
errors = {}
for name, f in {
    "lstm": lambda: torch.nn.LSTM(8, 8, device="cuda"),
    "qr": lambda: torch.linalg.qr(torch.zeros(4, 4, device="cuda")),
}.items():
    try:
        f()
    except RuntimeError as e:
        errors[name] = str(e).splitlines()[0]
out["raised"] = sorted(errors)
json.dump(out, sys.stdout)
os._exit(0)
