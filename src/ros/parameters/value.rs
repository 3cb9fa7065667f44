//! Values of parameters: between ROS, which types them, and the JSON trees of settings.

use lienav_base::settings::{Allowed, Spec};
use r2r::ParameterValue;
use r2r::rcl_interfaces::msg;
use serde_json::{Number, Value};

/// The types a parameter of ours can have: that of its default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `bool`.
    Bool,
    /// `integer`.
    Integer,
    /// `double`; an integer is taken for one, since YAML writes 5.0 as `5`.
    Double,
    /// `string`.
    String,
    /// `double_array`; an `integer_array` is taken for one.
    Doubles,
    /// `string_array`.
    Strings,
}

impl Kind {
    /// Of a setting with this value in a settings tree.
    pub fn of(spec: &Spec, value: &Value) -> Self {
        match value {
            _ if spec.allowed == Allowed::Names => Self::Strings,
            Value::Bool(_) => Self::Bool,
            Value::Number(n) if n.is_f64() => Self::Double,
            Value::Number(_) => Self::Integer,
            Value::Array(_) => Self::Doubles,
            _ => Self::String,
        }
    }

    /// In words, for error messages.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Bool => "true or false",
            Self::Integer => "a whole number",
            Self::Double => "a number",
            Self::String => "a string",
            Self::Doubles => "a list of numbers",
            Self::Strings => "a list of strings",
        }
    }

    /// `rcl_interfaces/msg/ParameterType`.
    pub fn code(self) -> u8 {
        match self {
            Self::Bool => 1,
            Self::Integer => 2,
            Self::Double => 3,
            Self::String => 4,
            Self::Doubles => 8,
            Self::Strings => 9,
        }
    }

    /// `given` as JSON, or `None` where it is of another type. Numbers that are not finite become null, which is
    /// outside every range.
    pub fn accept(self, given: &ParameterValue) -> Option<Value> {
        Some(match (self, given) {
            (Self::Bool, ParameterValue::Bool(b)) => Value::Bool(*b),
            (Self::Integer, ParameterValue::Integer(i)) => Value::from(*i),
            (Self::Double, ParameterValue::Double(x)) => number(*x),
            (Self::Double, ParameterValue::Integer(i)) => number(*i as f64),
            (Self::String, ParameterValue::String(s)) => Value::from(s.as_str()),
            (Self::Doubles, ParameterValue::DoubleArray(xs)) => xs.iter().map(|x| number(*x)).collect(),
            (Self::Doubles, ParameterValue::IntegerArray(xs)) => xs.iter().map(|i| number(*i as f64)).collect(),
            (Self::Strings, ParameterValue::StringArray(xs)) => xs.iter().map(|x| Value::from(x.as_str())).collect(),
            _ => return None,
        })
    }
}

fn number(x: f64) -> Value {
    Number::from_f64(x).map_or(Value::Null, Value::Number)
}

/// As a message has it, for the services.
pub fn to_msg(kind: Kind, value: &Value) -> msg::ParameterValue {
    let mut out = msg::ParameterValue { type_: kind.code(), ..Default::default() };
    match kind {
        Kind::Bool => out.bool_value = value.as_bool().unwrap_or_default(),
        Kind::Integer => out.integer_value = value.as_i64().unwrap_or(i64::MAX),
        Kind::Double => out.double_value = value.as_f64().unwrap_or(f64::NAN),
        Kind::String => out.string_value = value.as_str().unwrap_or_default().to_owned(),
        Kind::Doubles => {
            let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
            out.double_array_value = items.iter().map(|x| x.as_f64().unwrap_or(f64::NAN)).collect();
        }
        Kind::Strings => {
            let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
            out.string_array_value = items.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        }
    }
    out
}

/// From a message. r2r has this conversion, but keeps it to itself.
pub fn from_msg(value: msg::ParameterValue) -> ParameterValue {
    match value.type_ {
        1 => ParameterValue::Bool(value.bool_value),
        2 => ParameterValue::Integer(value.integer_value),
        3 => ParameterValue::Double(value.double_value),
        4 => ParameterValue::String(value.string_value),
        5 => ParameterValue::ByteArray(value.byte_array_value),
        6 => ParameterValue::BoolArray(value.bool_array_value),
        7 => ParameterValue::IntegerArray(value.integer_array_value),
        8 => ParameterValue::DoubleArray(value.double_array_value),
        9 => ParameterValue::StringArray(value.string_array_value),
        _ => ParameterValue::NotSet,
    }
}

/// As a user would have written it.
pub fn show(value: &ParameterValue) -> String {
    match value {
        ParameterValue::NotSet => "not set".into(),
        ParameterValue::Bool(b) => b.to_string(),
        ParameterValue::Integer(i) => i.to_string(),
        ParameterValue::Double(x) => format!("{x:?}"),
        ParameterValue::String(s) => format!("\"{s}\""),
        ParameterValue::BoolArray(v) => format!("{v:?}"),
        ParameterValue::ByteArray(v) => format!("{v:?}"),
        ParameterValue::IntegerArray(v) => format!("{v:?}"),
        ParameterValue::DoubleArray(v) => format!("{v:?}"),
        ParameterValue::StringArray(v) => format!("{v:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_whole_number_is_taken_for_a_double_but_not_the_other_way() {
        assert_eq!(Kind::Double.accept(&ParameterValue::Integer(5)), Some(json!(5.0)));
        assert_eq!(Kind::Integer.accept(&ParameterValue::Double(5.0)), None);
        assert_eq!(Kind::Doubles.accept(&ParameterValue::IntegerArray(vec![1, 2])), Some(json!([1.0, 2.0])));
    }

    #[test]
    fn numbers_that_are_not_finite_become_null() {
        assert_eq!(Kind::Double.accept(&ParameterValue::Double(f64::INFINITY)), Some(Value::Null));
    }

    #[test]
    fn messages_round_trip() {
        let (any, names) = (Spec::new("a", "b"), Spec::new("a", "b").names());
        for value in [json!(true), json!(-3), json!(0.5), json!("reduced"), json!([1.5, 2.0])] {
            let kind = Kind::of(&any, &value);
            assert_eq!(kind.accept(&from_msg(to_msg(kind, &value))), Some(value));
        }
        for value in [json!([]), json!(["front", "rear"])] {
            let kind = Kind::of(&names, &value);
            assert_eq!((kind, kind.accept(&from_msg(to_msg(kind, &value)))), (Kind::Strings, Some(value)));
        }
    }
}
