//! HIP as plain C++: kernels, `__shared__` and `<<<…>>>` in preprocessed source.

use super::tokens::{Token, TokenKind, tokens};

/// Rewrites preprocessed source. `gcc` chooses between dialects of attributes and pragmas.
pub(super) fn rewrite(source: &str, gcc: bool) -> String {
    let source = if gcc { gcc_pragmas(source) } else { source.to_string() };
    let rewriter = Rewriter { text: &source, tokens: tokens(&source), gcc };
    rewriter.run()
}

/// GCC has its own syntax for unrolling.
fn gcc_pragmas(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    for line in source.split_inclusive('\n') {
        let words: Vec<&str> = line.split(|c: char| c.is_whitespace() || "()".contains(c)).collect();
        let words: Vec<&str> = words.into_iter().filter(|w| !w.is_empty()).collect();
        match words.as_slice() {
            ["#pragma", "unroll"] => out.push_str("#pragma GCC unroll 16\n"),
            ["#pragma", "unroll", n] => out.push_str(&format!("#pragma GCC unroll {n}\n")),
            ["#pragma", "nounroll"] => out.push_str("#pragma GCC unroll 1\n"),
            _ => out.push_str(line),
        }
    }
    out
}

struct Edit {
    start: usize,
    end: usize,
    text: String,
}

struct Rewriter<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    gcc: bool,
}

impl Rewriter<'_> {
    fn run(&self) -> String {
        let mut edits = Vec::new();
        let mut kernels: Vec<&str> = Vec::new();
        let mut depth = 0usize;
        for i in 0..self.tokens.len() {
            match self.tokens[i].kind {
                TokenKind::Sign(b'{') => depth += 1,
                TokenKind::Sign(b'}') => depth = depth.saturating_sub(1),
                TokenKind::Word if self.word(i) == "__global__" => {
                    kernels.extend(self.kernel(i, depth, &mut edits));
                }
                TokenKind::Word if self.word(i) == "__shared__" => self.shared(i, &mut edits),
                // Not a macro: system headers say `__attribute__((__noinline__))`.
                TokenKind::Word
                    if self.word(i) == "__noinline__" && self.sign(i.wrapping_sub(1)) != Some(b'(') =>
                {
                    let Token { start, end, .. } = self.tokens[i];
                    edits.push(Edit { start, end, text: "__attribute__((noinline))".into() });
                }
                TokenKind::Sign(b'<') if self.opens_launch(i) => edits.extend(self.launch(i)),
                _ => {}
            }
        }
        edits.sort_by_key(|edit| edit.start);
        let mut out = String::with_capacity(self.text.len() + 4096);
        let mut at = 0;
        for edit in edits.iter().filter(|edit| edit.start <= edit.end) {
            if edit.start < at {
                continue;
            }
            out.push_str(&self.text[at..edit.start]);
            out.push_str(&edit.text);
            at = edit.end;
        }
        out.push_str(&self.text[at..]);
        for (n, name) in kernels.iter().enumerate() {
            if kernels.iter().filter(|other| *other == name).count() == 1 {
                out.push_str(&format!(
                    "\nstatic ::hip_stand_in::Registered hip_stand_in_registered_{n}({name});\n"
                ));
            }
        }
        out
    }

    fn word(&self, i: usize) -> &str {
        self.tokens.get(i).map_or("", |t| &self.text[t.start..t.end])
    }

    fn sign(&self, i: usize) -> Option<u8> {
        match self.tokens.get(i)?.kind {
            TokenKind::Sign(byte) => Some(byte),
            _ => None,
        }
    }

    /// The token that closes the bracket at `i`.
    fn closing(&self, i: usize) -> Option<usize> {
        let mut depth = 0usize;
        for j in i..self.tokens.len() {
            match self.sign(j) {
                Some(b'(' | b'[' | b'{') => depth += 1,
                Some(b')' | b']' | b'}') => {
                    depth -= 1;
                    if depth == 0 {
                        return Some(j);
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// Marks the entry of a kernel, and returns its name if its address can be taken at the end of the file.
    fn kernel(&self, i: usize, depth: usize, edits: &mut Vec<Edit>) -> Option<&str> {
        let attribute = if self.gcc { "__attribute__((noipa))" } else { "__attribute__((noinline))" };
        let Token { start, end, .. } = self.tokens[i];
        edits.push(Edit { start, end, text: attribute.into() });
        let (mut j, mut name) = (i + 1, None);
        while j < self.tokens.len() {
            match self.sign(j) {
                Some(b'(') => {
                    if self.tokens[j - 1].kind == TokenKind::Word && self.word(j - 1) != "__attribute__" {
                        name = Some(j - 1);
                    }
                    j = self.closing(j)?;
                }
                Some(b';') => return None,
                Some(b'{') => break,
                _ => {}
            }
            j += 1;
        }
        let at = self.tokens.get(j)?.end;
        edits.push(Edit { start: at, end: at, text: " ::hip_stand_in::kernel_entered();".into() });
        let template = (i.saturating_sub(3)..i).any(|k| self.sign(k) == Some(b'>'));
        (depth == 0 && !template).then(|| name.map(|n| self.word(n))).flatten()
    }

    fn shared(&self, i: usize, edits: &mut Vec<Edit>) {
        let Token { start, end, .. } = self.tokens[i];
        if i > 0 && self.word(i - 1) == "extern" {
            edits.extend(self.dynamic_shared(i));
            return;
        }
        let already = i > 0 && self.word(i - 1) == "static";
        edits.push(Edit {
            start,
            end,
            text: if already { "thread_local" } else { "static thread_local" }.into(),
        });
        let (mut j, mut names, mut angle) = (i + 1, Vec::new(), 0i32);
        let mut last = None;
        while j < self.tokens.len() {
            match self.sign(j) {
                Some(b'<') if names.is_empty() => angle += 1,
                Some(b'>') if names.is_empty() => angle -= 1,
                Some(b'(' | b'[' | b'{') => {
                    let attribute = matches!(last.map(|l| self.word(l)), Some("__attribute__" | "alignas"));
                    if !attribute && angle == 0 {
                        names.extend(last.take());
                    }
                    let Some(close) = self.closing(j) else { return };
                    j = close;
                }
                Some(b'=' | b',') if angle == 0 => names.extend(last.take()),
                Some(b';') => {
                    names.extend(last.take());
                    break;
                }
                None if self.tokens[j].kind == TokenKind::Word => last = Some(j),
                _ => {}
            }
            j += 1;
        }
        let Some(at) = self.tokens.get(j).map(|t| t.end) else { return };
        let sizes: Vec<String> = names.iter().map(|n| format!("sizeof({})", self.word(*n))).collect();
        if !sizes.is_empty() {
            let text = format!(" ::hip_stand_in::lds_declared({});", sizes.join(" + "));
            edits.push(Edit { start: at, end: at, text });
        }
    }

    /// `extern __shared__ T name[];` is a pointer to the bytes that the launch asked for.
    fn dynamic_shared(&self, i: usize) -> Option<Edit> {
        let (mut ty, mut j) = (Vec::new(), i + 1);
        while self.sign(j) != Some(b'[') {
            if matches!(self.word(j), "__attribute__" | "alignas") {
                j = self.closing(j + 1)? + 1;
                continue;
            }
            ty.push(self.tokens.get(j).map(|_| self.word(j))?);
            j += 1;
        }
        let name = ty.pop()?;
        let close = self.closing(j)?;
        let ty = ty.join(" ");
        Some(Edit {
            start: self.tokens[i - 1].start,
            end: self.tokens[close].end,
            text: format!("{ty}* {name} = ({ty}*)::hip_stand_in::dynamic_lds()"),
        })
    }

    fn adjacent(&self, i: usize, sign: u8, count: usize) -> bool {
        (0..count).all(|k| {
            self.sign(i + k) == Some(sign)
                && (k == 0 || self.tokens[i + k].start == self.tokens[i + k - 1].end)
        })
    }

    fn opens_launch(&self, i: usize) -> bool {
        let first =
            i == 0 || self.sign(i - 1) != Some(b'<') || self.tokens[i - 1].end != self.tokens[i].start;
        first && self.adjacent(i, b'<', 3) && i > 0 && self.word(i - 1) != "operator"
    }

    fn launch(&self, i: usize) -> Option<Edit> {
        let first = self.callee(i)?;
        let mut j = i + 3;
        while !self.adjacent(j, b'>', 3) {
            j = match self.sign(j) {
                Some(b'(' | b'[' | b'{') => self.closing(j)? + 1,
                Some(b';') => return None,
                _ => j + 1,
            };
            self.tokens.get(j)?;
        }
        let open = j + 3;
        if self.sign(open) != Some(b'(') {
            return None;
        }
        let close = self.closing(open)?;
        let between = |from: usize, to: usize| &self.text[self.tokens[from].end..self.tokens[to].start];
        let kernel = &self.text[self.tokens[first].start..self.tokens[i - 1].end];
        let (config, args) = (between(i + 2, j).trim(), between(open, close).trim());
        let comma = if args.is_empty() { "" } else { ", " };
        Some(Edit {
            start: self.tokens[first].start,
            end: self.tokens[close].end,
            text: format!(
                "::hip_stand_in::configure({config}).run([=](auto... hip_arguments) {{ \
                 {kernel}(hip_arguments...); }}{comma}{args})"
            ),
        })
    }

    /// The first token of the kernel's name before `<<<`: `a::b<c, d>`, or an expression in parentheses.
    fn callee(&self, launch: usize) -> Option<usize> {
        let mut i = launch.checked_sub(1)?;
        if self.sign(i) == Some(b')') {
            return self.opening(i, b'(', b')');
        }
        if self.sign(i) == Some(b'>') {
            i = self.opening(i, b'<', b'>')?.checked_sub(1)?;
        }
        if self.tokens[i].kind != TokenKind::Word {
            return None;
        }
        // `ns::` and a leading `::` belong to the name.
        while i >= 2 && self.sign(i - 1) == Some(b':') && self.sign(i - 2) == Some(b':') {
            i -= 2;
            match i.checked_sub(1) {
                Some(before) if self.tokens[before].kind == TokenKind::Word && !self.is_keyword(before) => {
                    i = before
                }
                Some(before) if self.sign(before) == Some(b'>') => {
                    i = self.opening(before, b'<', b'>')?.checked_sub(1)?;
                }
                _ => break,
            }
        }
        Some(i)
    }

    fn is_keyword(&self, i: usize) -> bool {
        matches!(self.word(i), "return" | "else" | "do" | "case" | "throw")
    }

    /// The token that opens the bracket closed at `i`, for one kind of bracket; parentheses count whole.
    fn opening(&self, i: usize, open: u8, close: u8) -> Option<usize> {
        let (mut depth, mut parens) = (0usize, 0usize);
        for j in (0..=i).rev() {
            match self.sign(j) {
                Some(sign) if sign == close && parens == 0 => depth += 1,
                Some(sign) if sign == open && parens == 0 => {
                    depth -= 1;
                    if depth == 0 {
                        return Some(j);
                    }
                }
                Some(b')') => parens += 1,
                Some(b'(') => parens = parens.checked_sub(1)?,
                Some(b';' | b'{' | b'}') => return None,
                _ => {}
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(source: &str) -> String {
        rewrite(source, true).replace("::hip_stand_in::", "")
    }

    #[test]
    fn launches_become_calls() {
        assert_eq!(
            launch("k<<<g, b>>>(x, y);"),
            "configure(g, b).run([=](auto... hip_arguments) { k(hip_arguments...); }, x, y);"
        );
        assert_eq!(
            launch("ns::k<float, (A > B)> <<< dim3(n >> 2, f<3>(1)), 256, 0, s >>> ();"),
            "configure(dim3(n >> 2, f<3>(1)), 256, 0, s).run([=](auto... hip_arguments) { \
             ns::k<float, (A > B)>(hip_arguments...); });"
        );
        assert!(launch("if (x) ::k<v<int>><<<1, 1>>>(a[i << 2], \"<<<\");").contains("::k<v<int>>(hip"));
        assert!(launch("return k<<<1, 1>>>(f(a, b));").starts_with("return configure(1, 1)"));
    }

    #[test]
    fn text_is_left_alone() {
        for same in
            ["puts(\"k<<<1, 1>>>(x)\");", "std::cout << a << b;", "x = R\"(k<<<1,1>>>())\";", "c = '<';"]
        {
            assert_eq!(rewrite(same, true), same);
        }
        assert_eq!(rewrite("__noinline__ int f();", true), "__attribute__((noinline)) int f();");
        assert_eq!(rewrite("__attribute__((__noinline__)) g();", true), "__attribute__((__noinline__)) g();");
        let header = "# 1 \"/usr/include/x\" 1 3\nk<<<1, 1>>>(x);\n";
        assert_eq!(rewrite(header, true), header);
    }

    #[test]
    fn kernels_note_their_entry_and_are_registered() {
        let text =
            launch("__global__ void __attribute__((aligned(8))) k(int a) { a; }\n__global__ void d();");
        assert!(text.contains("k(int a) { kernel_entered(); a; }"), "{text}");
        assert!(text.contains("Registered hip_stand_in_registered_0(k);"), "{text}");
        let template = launch("template <class T> __global__ void k(T a) {}");
        assert!(!template.contains("Registered"), "{template}");
    }

    #[test]
    fn shared_memory_is_static_per_thread_of_the_machine() {
        assert_eq!(
            launch("__shared__ float a[4][5], b; x;"),
            "static thread_local float a[4][5], b; lds_declared(sizeof(a) + sizeof(b)); x;"
        );
        assert_eq!(
            launch("__shared__ pair<int, 3> p;"),
            "static thread_local pair<int, 3> p; lds_declared(sizeof(p));"
        );
        assert_eq!(
            launch("extern __shared__ __attribute__((aligned(16))) float s[];"),
            "float* s = (float*)dynamic_lds();"
        );
    }
}
