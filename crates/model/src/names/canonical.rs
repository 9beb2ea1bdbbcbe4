//! One spelling of a kernel's name, and the parts that rules and people look at.

use std::borrow::Cow;

use super::demangle::demangle;

/// The demangled name with single spaces, without addresses and without its argument list.
pub fn canonical(name: &str) -> String {
    let plain = demangle(name);
    let tidy = collapse_blanks(&plain);
    let scrubbed = scrub_addresses(&tidy);
    without_arguments(&scrubbed).to_string()
}

/// The qualified function of a canonical name: no return type, no template arguments, no anonymous namespaces.
pub fn function(canonical: &str) -> String {
    if canonical.starts_with("_ZN") {
        return mangled_function(canonical);
    }
    // Open brackets; `<` and `>` inside parentheses are comparisons: `enable_if<(8 > 0), void>`.
    let mut open: Vec<char> = Vec::new();
    let mut bare = String::new();
    let text = canonical.replace("(anonymous namespace)::", "");
    for (at, c) in text.char_indices() {
        match c {
            '<' if open.last() != Some(&'(') && !bare.ends_with("operator") => open.push(c),
            '>' if open.last() == Some(&'<') => {
                open.pop();
            }
            // A second part such as `f(int)::{lambda()#1}` belongs to the function it is in.
            '(' if open.is_empty() && at > 0 && !bare.ends_with(' ') => break,
            '(' if !open.is_empty() => open.push(c),
            ')' if open.last() == Some(&'(') => {
                open.pop();
            }
            _ if open.is_empty() => bare.push(c),
            _ => {}
        }
    }
    // What follows a space is the name, unless it is a remark such as `Memcpy HtoD (Host -> Device)`.
    let named = bare.trim_end();
    match named.rsplit_once(' ') {
        Some((_, name)) if canonical.contains("::") || canonical.starts_with("void ") => name.to_string(),
        _ => named.to_string(),
    }
}

/// The leading nested name of a mangled name: `_ZN7ck_tile6kentryI…` is `ck_tile::kentry`.
fn mangled_function(mangled: &str) -> String {
    let mut rest = &mangled[3..];
    let mut parts = Vec::new();
    loop {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let Ok(length) = rest[..digits].parse::<usize>() else { break };
        let Some(part) = digits.checked_add(length).and_then(|end| rest.get(digits..end)) else { break };
        if part != "_GLOBAL__N_1" {
            parts.push(part);
        }
        rest = &rest[digits + length..];
    }
    if parts.is_empty() { mangled.to_string() } else { parts.join("::") }
}

fn collapse_blanks(name: &str) -> Cow<'_, str> {
    let tidy = !name.contains("  ") && !name.contains(|c: char| c.is_whitespace() && c != ' ');
    if tidy && name.trim() == name {
        return Cow::Borrowed(name);
    }
    Cow::Owned(name.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Hexadecimal numbers with this many digits are addresses, not sizes.
const ADDRESS_DIGITS: usize = 6;

/// Replaces addresses by `0xADDR`. A tile such as `MT320x224x64` is not one: its `0x` follows a digit.
fn scrub_addresses(name: &str) -> Cow<'_, str> {
    let mut result = String::new();
    let mut copied = 0;
    let mut from = 0;
    while let Some(found) = name[from..].find("0x") {
        let at = from + found;
        let digits = name[at + 2..].bytes().take_while(u8::is_ascii_hexdigit).count();
        let end = at + 2 + digits;
        let inside_word = name[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let word_goes_on = name[end..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
        if digits >= ADDRESS_DIGITS && !inside_word && !word_goes_on {
            result.push_str(&name[copied..at]);
            result.push_str("0xADDR");
            copied = end;
        }
        from = end;
    }
    if copied == 0 {
        return Cow::Borrowed(name);
    }
    result.push_str(&name[copied..]);
    Cow::Owned(result)
}

/// Cuts a trailing balanced `(…)` that touches the name before it, as argument lists do and remarks do not.
fn without_arguments(name: &str) -> &str {
    if !name.ends_with(')') {
        return name;
    }
    let mut depth = 0usize;
    for (at, c) in name.char_indices().rev() {
        match c {
            ')' => depth += 1,
            '(' => {
                depth -= 1;
                if depth == 0 {
                    let before = &name[..at];
                    let touches = before.ends_with(|c: char| c.is_alphanumeric() || "_>})".contains(c));
                    return if touches && !before.ends_with("operator") { before } else { name };
                }
            }
            _ => {}
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn argument_lists_go_and_remarks_stay() {
        let cases = [
            ("void f<int>(int, (anonymous namespace)::A)", "void f<int>"),
            ("ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", "ncclDevKernel_Generic"),
            ("Memcpy HtoD (Host -> Device)", "Memcpy HtoD (Host -> Device)"),
            ("void  f\t<int>", "void f <int>"),
            ("f(int", "f(int"),
            ("f)", "f)"),
            ("(int)", "(int)"),
            ("_Z3addPfi.kd", "add"),
        ];
        for (name, expected) in cases {
            assert_eq!(canonical(name), expected);
        }
    }

    #[test]
    fn tiles_are_not_addresses() {
        for tile in
            ["MT320x224x64", "Cijk_MT160x256x64_MI16x16x1", "bx0x1234567", "size 0x20", "a_0x12345678"]
        {
            assert_eq!(canonical(tile), tile);
        }
        assert_eq!(canonical("<method of X at 0x7f00aa11bb22>"), "<method of X at 0xADDR>");
        assert_eq!(canonical("0xdeadbeef and 0xdeadbeef"), "0xADDR and 0xADDR");
        assert_eq!(canonical("é0xdeadbeef 日0x"), "é0xdeadbeef 日0x");
    }

    #[test]
    fn functions_have_no_templates_and_no_types() {
        let cases = [
            ("void at::native::(anonymous namespace)::f<a::b<int>, 3>(int)", "at::native::f"),
            (
                "std::enable_if<!(false), void>::type internal::gemvx::kernel<int>(int)",
                "internal::gemvx::kernel",
            ),
            ("attn_fwd", "attn_fwd"),
            ("void (anonymous namespace)::g<1>(int)", "g"),
            ("Memcpy HtoD (Host -> Device)", "Memcpy HtoD (Host -> Device)"),
            ("_ZN7ck_tile6kentryILi2EDF16bTnEEvT0_", "ck_tile::kentry"),
            ("_ZN12_GLOBAL__N_13fooITnEEv", "foo"),
        ];
        for (name, expected) in cases {
            assert_eq!(function(&canonical(name)), expected);
        }
    }
}
