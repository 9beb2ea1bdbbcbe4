//! An expression as text that reads back as the same expression.

use std::fmt;

use crate::{Channel, Expression};

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Channel::Current => f.write_str("CH"),
            Channel::Number(number) => write!(f, "{number}"),
        }
    }
}

impl<N: fmt::Display> fmt::Display for Expression<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expression::Number(number) => write!(f, "{number}"),
            Expression::Text(text) if text.contains('\'') => write!(f, "\"{text}\""),
            Expression::Text(text) => write!(f, "'{text}'"),
            Expression::Missing => f.write_str("none"),
            Expression::Name(name) => write!(f, "{name}"),
            Expression::OfChannel(name, channel) => write!(f, "{name}[{channel}]"),
            Expression::Negative(a) => write!(f, "(-{a})"),
            Expression::Not(a) => write!(f, "(not {a})"),
            Expression::Binary(operator, a, b) => write!(f, "({a} {} {b})", operator.sign()),
            Expression::Chain(first, rest) => {
                write!(f, "({first}")?;
                for (operator, part) in rest {
                    write!(f, " {} {part}", operator.sign())?;
                }
                f.write_str(")")
            }
            Expression::In(item, list) => {
                write!(f, "({item} in [")?;
                listed(f, list)?;
                f.write_str("])")
            }
            Expression::Choice(parts) => write!(f, "({} ? {} : {})", parts[0], parts[1], parts[2]),
            Expression::Call(function, parts) => {
                write!(f, "{}(", function.name())?;
                listed(f, parts)?;
                f.write_str(")")
            }
            Expression::Whole(a) => write!(f, "INT({a})"),
            Expression::Channels(a, None) => write!(f, "CHANNELS({a})"),
            Expression::Channels(a, Some((first, last))) => write!(f, "CHANNELS({a}, {first}, {last})"),
        }
    }
}

fn listed<N: fmt::Display>(f: &mut fmt::Formatter<'_>, parts: &[Expression<N>]) -> fmt::Result {
    for (i, part) in parts.iter().enumerate() {
        write!(f, "{}{part}", if i == 0 { "" } else { ", " })?;
    }
    Ok(())
}
