"""The MLIR lexer with one pattern for the frequent tokens; large modules are read about a third faster."""

import re

from xdsl.utils.lexer import Span, Token
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRToken, MLIRTokenKind, StringLiteral

_FREQUENT = re.compile(
    r"(?:\s++|//[^\n]*+)*+"  # possessive: a comment is never given back
    r"(?:(?P<value>%(?:[0-9]+|[a-zA-Z$._-][a-zA-Z0-9$._-]*))"
    r"|(?P<word>[a-zA-Z_][a-zA-Z0-9_$.]*)"
    r"|(?P<mark>->|[:,()\[\]<>=}?])"
    r"|(?P<type>!(?:[0-9]+|[a-zA-Z$._-][a-zA-Z0-9$._-]*)))",
    re.ASCII,
)
_KIND_OF_GROUP = {
    "value": MLIRTokenKind.PERCENT_IDENT,
    "word": MLIRTokenKind.BARE_IDENT,
    "type": MLIRTokenKind.EXCLAMATION_IDENT,
}
_KIND_OF_MARK = {kind.value: kind for kind in MLIRTokenKind if isinstance(kind.value, str)}


class FrequentLexer(MLIRLexer):
    """Reads names, words, marks and type names itself and leaves all other tokens to the lexer of xDSL."""

    # possessive: the pattern of xDSL tries every way to cut a string that does not end, which are exponentially many
    _unescaped_characters_regex = re.compile(r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"')

    def _lex_string_literal(self, start_pos: int) -> MLIRToken:
        """A string. Printers escape what is not ASCII, so escaped UTF-8 is text again; other bytes stay bytes."""
        token = super()._lex_string_literal(start_pos)
        if token.kind is MLIRTokenKind.BYTES_LIT and _is_text(StringLiteral.from_span(token.span).bytes_contents):
            return Token(MLIRTokenKind.STRING_LIT, token.span)
        return token

    def lex(self) -> MLIRToken:
        found = _FREQUENT.match(self.input.content, self.pos)
        if found is None or found.lastgroup is None:
            return super().lex()
        start, self.pos = found.span(found.lastgroup)
        kind = _KIND_OF_GROUP.get(found.lastgroup) or _KIND_OF_MARK[found[found.lastgroup]]
        return Token(kind, Span(start, self.pos, self.input))


def _is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True
