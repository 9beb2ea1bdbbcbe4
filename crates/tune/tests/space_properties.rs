//! Spaces, expressions and templates on any input: they never panic, and agree with a plain evaluator.

use proptest::prelude::*;
use proptest::test_runner::Config;
use rocm_perf_tune::space::{CommandText, Expression, Scalar, Setting, Space};
use rocm_perf_tune::template::{Template, split};

/// An independent expression tree, to write and evaluate expressions.
#[derive(Clone, Debug)]
enum Tree {
    Number(u32),
    Name(usize),
    Not(Box<Tree>),
    Negative(Box<Tree>),
    /// A symbol of [`LEVELS`].
    Binary(&'static str, Box<Tree>, Box<Tree>),
    Call(&'static str, Box<Tree>, Box<Tree>),
}

const NAMES: [&str; 3] = ["A", "B", "C"];

/// How tightly symbols bind, loosest first.
const LEVELS: &[(&[&str], u8)] = &[
    (&["or"], 0),
    (&["and"], 1),
    (&["<", "<=", ">", ">=", "==", "!="], 3),
    (&["+", "-"], 4),
    (&["*", "/", "//", "%"], 5),
    (&["**"], 7),
];
const NOT: u8 = 2;
const NEGATIVE: u8 = 6;
const POWER: u8 = 7;
const ATOM: u8 = 8;

fn level(symbol: &str) -> u8 {
    LEVELS.iter().find(|(symbols, _)| symbols.contains(&symbol)).expect("a symbol").1
}

impl Tree {
    /// The text with as few brackets as precedence allows, and how tightly it binds.
    fn text(&self) -> (String, u8) {
        let at_least = |tree: &Tree, least: u8| {
            let (text, binds) = tree.text();
            if binds >= least { text } else { format!("({text})") }
        };
        match self {
            Tree::Number(n) => (n.to_string(), ATOM),
            Tree::Name(name) => (NAMES[*name].into(), ATOM),
            Tree::Not(inner) => (format!("not {}", at_least(inner, NOT)), NOT),
            Tree::Negative(inner) => (format!("-{}", at_least(inner, NEGATIVE)), NEGATIVE),
            Tree::Call(name, a, b) => (format!("{name}({}, {})", a.text().0, b.text().0), ATOM),
            Tree::Binary(symbol, a, b) => {
                let binds = level(symbol);
                // Powers group to the right, comparisons would chain, all others group to the left.
                let (left, right) = match *symbol {
                    "**" => (ATOM, NEGATIVE),
                    _ if binds == 3 => (4, 4),
                    _ => (binds, binds + 1),
                };
                let text = format!("{} {symbol} {}", at_least(a, left), at_least(b, right));
                (text, if binds == POWER { POWER } else { binds })
            }
        }
    }

    fn value(&self, of: &[f64; 3]) -> f64 {
        let truth = |holds: bool| if holds { 1.0 } else { 0.0 };
        let is_true = |value: f64| value != 0.0 && !value.is_nan();
        match self {
            Tree::Number(n) => f64::from(*n),
            Tree::Name(name) => of[*name],
            Tree::Not(inner) => truth(!is_true(inner.value(of))),
            Tree::Negative(inner) => -inner.value(of),
            Tree::Call(name, a, b) => {
                let (a, b) = (a.value(of), b.value(of));
                match *name {
                    _ if a.is_nan() || b.is_nan() => f64::NAN,
                    "min" => a.min(b),
                    "max" => a.max(b),
                    _ if b == 0.0 => f64::NAN,
                    _ => (a / b).ceil(),
                }
            }
            Tree::Binary(symbol, a, b) => {
                let (a, b) = (a.value(of), b.value(of));
                let unless_zero = |value: f64| if b == 0.0 { f64::NAN } else { value };
                match *symbol {
                    "or" => truth(is_true(a) || is_true(b)),
                    "and" => truth(is_true(a) && is_true(b)),
                    "<" => truth(a < b),
                    "<=" => truth(a <= b),
                    ">" => truth(a > b),
                    ">=" => truth(a >= b),
                    "==" => truth(a == b),
                    "!=" => truth(a != b),
                    "+" => a + b,
                    "-" => a - b,
                    "*" => a * b,
                    "/" => unless_zero(a / b),
                    "//" => unless_zero((a / b).floor()),
                    "%" => unless_zero(a - b * (a / b).floor()),
                    _ => a.powf(b),
                }
            }
        }
    }
}

fn trees() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![(0u32..20).prop_map(Tree::Number), (0usize..3).prop_map(Tree::Name)];
    leaf.prop_recursive(5, 40, 2, |inner| {
        let symbols: Vec<&'static str> =
            LEVELS.iter().flat_map(|(symbols, _)| symbols.iter().copied()).collect();
        prop_oneof![
            inner.clone().prop_map(|tree| Tree::Not(Box::new(tree))),
            inner.clone().prop_map(|tree| Tree::Negative(Box::new(tree))),
            (prop::sample::select(vec!["min", "max", "ceil_div"]), inner.clone(), inner.clone())
                .prop_map(|(name, a, b)| Tree::Call(name, Box::new(a), Box::new(b))),
            (prop::sample::select(symbols), inner.clone(), inner).prop_map(|(symbol, a, b)| Tree::Binary(
                symbol,
                Box::new(a),
                Box::new(b)
            )),
        ]
    })
}

fn resolve(name: &str) -> Option<usize> {
    NAMES.iter().position(|known| *known == name)
}

/// Text that is nearly an expression, a template or a space.
fn pieces(of: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(of), 0..40).prop_map(|words| words.concat())
}

proptest! {
    // Failures get a named test, not a file of seeds.
    #![proptest_config(Config { failure_persistence: None, ..Config::with_cases(400) })]

    #[test]
    fn expressions_come_to_what_they_say(tree in trees(), of in prop::array::uniform3(-6i32..70)) {
        let of = of.map(f64::from);
        let (text, _) = tree.text();
        let parsed = Expression::parse(&text, &resolve);
        let parsed = parsed.unwrap_or_else(|error| panic!("{text}: {error}"));
        let Scalar::Number(found) = parsed.evaluate(&|name| Scalar::Number(of[name])) else {
            panic!("{text} is no number")
        };
        let expected = tree.value(&of);
        prop_assert!(found == expected || (found.is_nan() && expected.is_nan()), "{text}: {found}, not {expected}");
    }

    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        let _ = Expression::parse(&text, &resolve).map(|parsed| parsed.evaluate(&|_| Scalar::Number(0.0)));
        let _ = Space::parse(&text).map(|space| space.candidates(1));
        let _ = split(&text);
        for shell in [false, true] {
            let line = CommandText::Line(text.clone());
            if let Ok(template) = Template::parse("t", &line, &["A"], shell) {
                template.words(&[("A", &Setting::Int(1))]);
                template.fixed_words();
            }
        }
    }

    #[test]
    fn what_is_nearly_an_expression_is_read_or_refused(
        text in pieces(&["A", "B ", "1", ".5", "1e", "(", ")", "[", "]", ",", " in ", " not ", " and ", "**", "//", "<=",
            "!", "'x'", "\"", "min(", "log2", "-", "é", "%"]),
    ) {
        let _ = Expression::parse(&text, &resolve).map(|parsed| parsed.evaluate(&|_| Scalar::Text("x".into())));
    }

    #[test]
    fn what_is_nearly_a_template_is_read_or_refused(
        text in pieces(&["{", "}", "{A}", "{{", "}}", " ", "'", "\"", "\\", "a", "é", "{é}", "$"]),
    ) {
        if let Ok(template) = Template::parse("t", &CommandText::Line(text), &["A"], false) {
            prop_assert!(!template.words(&[("A", &Setting::Text("x y".into()))]).is_empty());
        }
    }

    /// A value arrives whole, as one word, whatever is in it.
    #[test]
    fn values_are_never_split(value in any::<String>()) {
        let line = CommandText::Line("k --v={A} {A}".into());
        let template = Template::parse("t", &line, &["A"], false).unwrap();
        let words = template.words(&[("A", &Setting::Text(value.clone()))]);
        prop_assert_eq!(words, ["k".to_string(), format!("--v={value}"), value]);
    }

    /// The listing prunes early; brute force does not.
    #[test]
    fn candidates_are_those_of_trying_everything(
        tree in trees(), sizes in prop::array::uniform3(1usize..6), steps in prop::array::uniform3(1i64..9),
    ) {
        let values = |p: usize| (0..sizes[p] as i64).map(move |i| i * steps[p]);
        let lists: Vec<String> =
            (0..3).map(|p| format!("\"{}\": {:?}", NAMES[p], values(p).collect::<Vec<_>>())).collect();
        let constraint = tree.text().0;
        let text = format!("{{\"params\": {{{}}}, \"constraints\": [{constraint:?}]}}", lists.join(", "));
        let mut expected = Vec::new();
        for a in values(0) {
            for b in values(1) {
                for c in values(2) {
                    let value = tree.value(&[a as f64, b as f64, c as f64]);
                    if value != 0.0 && !value.is_nan() {
                        expected.push(vec![a as f64, b as f64, c as f64]);
                    }
                }
            }
        }
        let space = Space::parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        match space.candidates(0) {
            Err(_) => prop_assert!(expected.is_empty(), "{}", text),
            Ok(candidates) => {
                let found: Vec<Vec<f64>> = candidates
                    .iter()
                    .map(|levels| space.settings(levels).iter().filter_map(|(_, value)| value.number()).collect())
                    .collect();
                prop_assert_eq!(found, expected, "{}", text);
            }
        }
    }
}
