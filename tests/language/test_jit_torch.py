"""`@pl.jit` on tensors of torch, which stays optional: the package never imports it."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import cubelane.language as pl
from cubelane.ir.diagnostic import Diagnostic
from tests.language.test_jit import added, coded, copied, fresh, linear

torch: Any = pytest.importorskip("torch")


def tensor(shape: tuple[int, ...] = (16, 32)) -> Any:
    return torch.from_numpy(coded(shape))


WORDS = "float32 float16 bfloat16 float8_e4m3fn float8_e5m2 int8 int16 int32 int64 uint8 uint16".split()


@pytest.mark.parametrize("word", WORDS)
def test_element_types(word: str) -> None:
    a = tensor().abs().to(getattr(torch, word))
    out = torch.zeros_like(a)
    assert copied(a, out) is out
    assert torch.equal(out.float(), tensor().abs())


def test_a_mixed_kernel_in_the_memory_of_the_caller() -> None:
    a, w, bias = tensor((32, 64)).half(), tensor((64, 16)).half(), tensor((32, 16))
    around = torch.full((64, 64), -77.0)
    out = around[8:40, 16:32]
    assert linear(a, w, bias=bias, out=out) is out
    assert torch.equal(out, 3 * (a.float() @ w.float()) + bias)
    around[8:40, 16:32] = -77
    assert torch.equal(around, torch.full((64, 64), -77.0)), "nothing beside the window was written"


@pytest.mark.parametrize("kind", ["a leaf with gradient", "a parameter", "columns first"])
def test_kinds_of_tensors(kind: str) -> None:
    a, out = tensor(), torch.zeros(16, 32)
    if kind == "a leaf with gradient":
        a, out = a.requires_grad_(), out.requires_grad_()
    elif kind == "a parameter":
        a = torch.nn.Parameter(a)
    else:
        a, out = a.t().contiguous().t(), torch.zeros(32, 16).t()
    assert copied(a, out) is out
    assert torch.equal(out, a)


@pytest.mark.parametrize("word", ["float32", "bfloat16"])
def test_a_new_result_is_a_tensor(word: str) -> None:
    a = tensor().to(getattr(torch, word))
    result = fresh(a)
    assert isinstance(result, torch.Tensor) and result.dtype is a.dtype
    torch.testing.assert_close(result.float(), torch.exp(a.float()), rtol=1e-2, atol=1e-2)


def test_tensors_and_arrays_of_numpy_in_one_call() -> None:
    a, out = tensor(), np.full((16, 32), -77, np.float32)
    assert copied(a, out) is out
    np.testing.assert_array_equal(out, a.numpy())


def test_a_tensor_without_axes_is_a_number() -> None:
    for number in (torch.tensor(2), np.array(2)):
        total = tensor()
        added(total, torch.ones(16, 32), number)
        assert torch.equal(total, tensor() + 2)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda a: a.double(), "is an array of float64"),
        (lambda a: a.to(torch.complex64), "is an array of complex64"),
        (lambda a: torch.empty(16, 32, device="meta"), "cannot be read as an array"),
        (lambda a: a.to_sparse(), "cannot be read as an array"),
    ],
)
def test_a_tensor_that_no_kernel_takes_is_refused_by_name(make: Any, words: str) -> None:
    with pytest.raises(Diagnostic, match=f"`copied` {words}"):
        copied(make(tensor()), torch.zeros(16, 32))


@pl.jit
def halved(a, o: pl.Out):
    with pl.at(level=pl.Level.CORE_GROUP):
        o[:] = pl.mul(a, 0.5)
    return o


def test_the_package_never_imports_torch() -> None:
    script = (
        "import sys, numpy as np\n"
        "from tests.language.test_jit import copied, fresh\n"
        "a = np.ones((16, 32), np.float32)\n"
        "copied(a, np.zeros_like(a)); fresh(a)\n"
        "assert 'torch' not in sys.modules\n"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, check=False).returncode == 0


def test_a_kernel_is_a_step_of_a_model() -> None:
    x = tensor((32, 64)).half()
    layer = torch.nn.Linear(64, 16, bias=False).half()
    with torch.no_grad():
        y, half = torch.zeros(32, 16), torch.zeros(32, 16)
        linear(x, layer.weight.t(), 1, bias=torch.zeros(32, 16), out=y)
        halved(y, half)
    torch.testing.assert_close(half, layer.weight.float().mm(x.t().float()).t() / 2, rtol=1e-3, atol=1e-3)
