"""Vector micro-ops: everything on registers, predicates and alignment state (spec/pto.md 4.4, 4.9, 11.9)."""

from cubelane.ir.pto.decl import Effect, OpDecl, Role, Rule, declare
from cubelane.ir.pto.rules import (
    LOAD_DISTRIBUTIONS,
    PAIR_LOAD_DISTRIBUTIONS,
    PAIR_STORE_DISTRIBUTIONS,
    PARTS,
    ROUNDINGS,
    STORE_DISTRIBUTIONS,
    attribute_one_of,
    compares_in_width,
    converts,
    distribution_width,
    has_string,
    moves_element,
    one_of,
    result_granularity,
)
from cubelane.ir.pto.spaces import Pipe
from cubelane.ir.traits import OnVector

COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
WIDTHS = (8, 16, 32)


def _micro(
    name: str,
    signature: str,
    *rules: Rule,
    effect: Effect = Effect.NONE,
    strings: tuple[str, ...] = (),
    lanes: str | None = None,
    tags: str = "",
) -> OpDecl:
    return declare(
        name,
        signature,
        affinity=OnVector,
        role=Role.CARRIER,
        effect=effect,
        pipe=Pipe.V,
        strings=strings,
        rules=rules,
        lanes=lanes,
        tags=tags,
    )


SLOW = ("vexp", "vln", "vsqrt", "vdiv")
"""Ops that the vector unit works on several times as long; the timing model asks for the tag."""


def _family(signature: str, lanes: dict[str, str | None]) -> list[OpDecl]:
    return [
        _micro(name, signature, lanes=meaning, tags="vector_slow" if name in SLOW else "")
        for name, meaning in lanes.items()
    ]


def _open(names: str, effect: Effect = Effect.NONE, tags: str = "") -> list[OpDecl]:
    """Ops whose operand lists the specification leaves open: any operands, any results."""
    return [
        _micro(name, "args:any* -> outs:any*", effect=effect, strings=("mode",), tags=tags) for name in names.split()
    ]


UNARY = _family(
    "src:vreg mask:mask -> result:vreg",
    {
        "vabs": "abs(src)",
        "vneg": "-src",
        "vexp": "exp(src)",
        "vln": "log(src)",
        "vsqrt": "sqrt(src)",
        "vrelu": "maximum(src, 0)",
        "vnot": "~src",
    },
)
BINARY = _family(
    "lhs:vreg rhs:vreg mask:mask -> result:vreg",
    {
        "vadd": "lhs + rhs",
        "vsub": "lhs - rhs",
        "vmul": "lhs * rhs",
        "vdiv": "lhs / rhs",
        "vmax": "maximum(lhs, rhs)",
        "vmin": "minimum(lhs, rhs)",
        "vand": "lhs & rhs",
        "vor": "lhs | rhs",
        "vxor": "lhs ^ rhs",
        "vshl": "lhs << rhs",
        "vshr": "lhs >> rhs",
        "vprelu": "where(lhs >= 0, lhs, rhs * lhs)",
    },
)
TERNARY = [
    _micro("vmadd", "lhs:vreg acc:vreg rhs:vreg mask:mask -> result:vreg", lanes="lhs * acc + rhs"),
    _micro("vmula", "acc:vreg lhs:vreg rhs:vreg mask:mask -> result:vreg", lanes="acc + lhs * rhs"),
    _micro("vaxpy", "x:vreg y:vreg alpha:scalar mask:mask -> result:vreg", lanes="alpha * x + y"),
    _micro("vmull", "lhs:vreg rhs:vreg mask:mask -> low:vreg high:vreg"),
    _micro("vaddc", "lhs:vreg rhs:vreg mask:mask -> result:vreg carry:mask"),
    _micro("vsubc", "lhs:vreg rhs:vreg mask:mask -> result:vreg carry:mask"),
    _micro("vaddcs", "lhs:vreg rhs:vreg carry_in:mask mask:mask -> result:vreg carry:mask"),
    _micro("vsubcs", "lhs:vreg rhs:vreg carry_in:mask mask:mask -> result:vreg carry:mask"),
]
SCALAR = _family(
    "src:vreg scalar:scalar mask:mask -> result:vreg",
    {
        "vadds": "src + scalar",
        "vmuls": "src * scalar",
        "vmaxs": "maximum(src, scalar)",
        "vmins": "minimum(src, scalar)",
        "vlrelu": "where(src >= 0, src, scalar * src)",
        "vshls": "src << scalar",
        "vshrs": "src >> scalar",
    },
)
COMPARE = [
    _micro(
        name,
        f"lhs:vreg rhs:{rhs} mask:mask -> result:mask",
        one_of("mode", COMPARISONS),
        has_string("mode"),
        compares_in_width,
        strings=("mode",),
    )
    for name, rhs in (("vcmp", "vreg"), ("vcmps", "scalar"))
]
SELECT = [
    _micro("vsel", "lhs:vreg rhs:vreg mask:mask -> result:vreg", lanes="where(mask, lhs, rhs)"),
    _micro("vselr", "src:vreg index:vreg -> result:vreg", lanes="src[index]"),
    _micro("vselrv2", "src:vreg index:vreg -> result:vreg", lanes="src[index]"),
]
CONVERT = [
    _micro(
        "vcvt",
        "src:vreg mask:mask? -> result:vreg",
        converts,
        attribute_one_of("rnd", ROUNDINGS),
        attribute_one_of("sat", ("SAT", "NOSAT")),
        attribute_one_of("part", PARTS),
    ),
    _micro(
        "vtrc",
        "src:vreg mask:mask? -> result:vreg",
        attribute_one_of("rnd", ROUNDINGS),
        strings=("rnd",),
        lanes="trunc(src)",
    ),
    _micro("vbitcast", "src:vreg -> result:vreg"),
    _micro("vmulscvt", "src:vreg scalar:scalar mask:mask? -> result:vreg", strings=("part",)),
    _micro("vexpdif", "src:vreg max:vreg mask:mask? -> result:vreg", strings=("part",), tags="vector_slow"),
    _micro("vaddreluconv", "lhs:vreg rhs:vreg mask:mask? -> result:vreg", strings=("part",)),
    _micro("vmulconv", "lhs:vreg rhs:vreg mask:mask? -> result:vreg", strings=("part",)),
]
REDUCE = [
    _micro(name, "src:vreg mask:mask -> result:vreg", tags="reduction")
    for name in "vcadd vcmax vcmin vcbmax vcbmin vcgadd vcgmax vcgmin vcpadd".split()
] + [_micro(name, "acc:vreg src:vreg mask:mask bin:int? -> result:vreg") for name in ("chistv2", "dhistv2")]
REARRANGE = [
    *(_micro(name, "lhs:vreg rhs:vreg -> low:vreg high:vreg") for name in ("vintlv", "vdintlv")),
    *(_micro(name, "lhs:vreg rhs:vreg -> result:vreg", strings=("part",)) for name in ("vintlvv2", "vdintlvv2")),
    _micro("vsqz", "src:vreg mask:mask -> result:vreg"),
    _micro("vusqz", "src:vreg? mask:mask -> result:vreg"),
    *(
        _micro(name, "src:vreg part:int? -> result:vreg", strings=("half",))
        for name in ("vpack", "vsunpack", "vzunpack")
    ),
]
MATERIALIZE = [
    _micro("vbr", "scalar:scalar -> result:vreg", lanes="scalar"),
    _micro("vdup", "src:any mask:mask? -> result:vreg", strings=("position",)),
    _micro("vci", "base:scalar -> result:vreg", strings=("order",)),
]
LOADS = [
    _micro(
        "vlds",
        "src:ub [offset:index] -> result:vreg next:ub?",
        moves_element("src", None),
        attribute_one_of("dist", LOAD_DISTRIBUTIONS),
        distribution_width(None),
        effect=Effect.READ,
    ),
    _micro(
        "vldsx2",
        "src:ub [offset:index] -> low:vreg high:vreg next:ub?",
        attribute_one_of("dist", PAIR_LOAD_DISTRIBUTIONS),
        distribution_width(None),
        effect=Effect.READ,
        strings=("dist",),
    ),
    *(
        _micro(name, "src:ub [offset:index]? -> result:mask", effect=Effect.READ, strings=("dist",))
        for name in ("plds", "pldi")
    ),
    *_open("vldas vldus uvld vsldb vgather2 vgatherb vgather2_bc", Effect.READ),
]
STORES = [
    _micro(
        "vsts",
        "value:vreg dst:ub [offset:index] mask:mask -> next:ub?",
        moves_element("dst", "value"),
        attribute_one_of("dist", STORE_DISTRIBUTIONS),
        distribution_width("value"),
        effect=Effect.WRITE,
    ),
    _micro(
        "vstsx2",
        "low:vreg high:vreg dst:ub [offset:index] mask:mask? -> next:ub?",
        attribute_one_of("dist", PAIR_STORE_DISTRIBUTIONS),
        distribution_width("low"),
        effect=Effect.WRITE,
        strings=("dist",),
    ),
    *(
        _micro(name, "value:mask dst:ub [offset:index]?", effect=Effect.WRITE, strings=("dist",))
        for name in ("psts", "psti")
    ),
    *_open("vsstb vscatter vstas vstar vstus vstur pstu", Effect.WRITE),
]
PREDICATES = [
    *(
        _micro(f"pset_b{w}", "-> result:mask", has_string("pattern"), result_granularity(w), strings=("pattern",))
        for w in WIDTHS
    ),
    *(
        _micro(f"pge_b{w}", "-> result:mask", has_string("pattern"), result_granularity(w), strings=("pattern",))
        for w in WIDTHS
    ),
    *(_micro(f"plt_b{w}", "count:int -> result:mask rest:int", result_granularity(w)) for w in WIDTHS),
    *(_micro(f"pltm_b{w}", "loop:int bound:int -> result:mask", result_granularity(w)) for w in WIDTHS),
    *(
        _micro(name, "lhs:mask rhs:mask mask:mask -> result:mask", lanes=lanes)
        for name, lanes in (("pand", "lhs & rhs"), ("por", "lhs | rhs"), ("pxor", "lhs ^ rhs"))
    ),
    _micro("pnot", "src:mask mask:mask -> result:mask", lanes="~src"),
    _micro("psel", "lhs:mask rhs:mask mask:mask -> result:mask", lanes="where(mask, lhs, rhs)"),
    *(_micro(name, "src:mask -> result:mask", strings=("half",)) for name in ("ppack", "punpack")),
    _micro("pbitcast", "src:mask -> result:mask"),
    *(
        _micro(f"{name}_b{w}", "lhs:mask rhs:mask -> low:mask high:mask")
        for name in ("pintlv", "pdintlv")
        for w in WIDTHS
    ),
]
STATE = [
    _micro("init_align", "-> result:align"),
    *_open("sprclr sprsti sprsts", Effect.WRITE, tags="vector_state"),
]
SORT = _open("vbitsort vmrgsort4", Effect.WRITE, tags="scope_boundary")

OPS: tuple[OpDecl, ...] = (
    *UNARY,
    *BINARY,
    *TERNARY,
    *SCALAR,
    *COMPARE,
    *SELECT,
    *CONVERT,
    *REDUCE,
    *REARRANGE,
    *MATERIALIZE,
    *LOADS,
    *STORES,
    *PREDICATES,
    *STATE,
    *SORT,
)


def virtual(name: str) -> OpDecl:
    """An op of the virtual instruction layer, `vmi.<name>`: vector work with any operands (spec/pto.md 4.4)."""
    return _micro(name, "args:any* -> outs:any*", effect=Effect.WRITE, strings=("mode",), tags="virtual")
