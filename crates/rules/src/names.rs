//! The names that a rule uses: a misspelt one is an error at the start, not at the first call.

use cel::{
    common::{
        ast::{EntryExpr, Expr},
        types::CelString,
        value::CowVal,
    },
    context::VariableResolver,
    parser::Expression,
};

/// The variables of a rule.
const KNOWN: [&str; 6] = ["claims", "caller", "tool", "server", "args", "read_only"];
/// The names of types, which are values too: `type(args.level) == int`.
const TYPES: [&str; 10] =
    ["bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint"];

/// A value for each variable, to try a rule with.
pub(crate) struct SampleVariables;

impl VariableResolver for SampleVariables {
    fn resolve<'b>(&'b self, variable: &str) -> Option<CowVal<'b, 'b>> {
        KNOWN.contains(&variable).then(|| CowVal::owned(CelString::from("")))
    }
}

/// Returns a name in the expression that is not defined.
pub(crate) fn unknown(expression: &Expression) -> Option<String> {
    let mut bound = Vec::new();
    collect(expression, &mut bound);
    let references = expression.references();
    let mut names = references.variables();
    names.sort_unstable();
    let is_known = |name: &str| KNOWN.contains(&name) || TYPES.contains(&name);
    let unknown = names.into_iter().find(|name| !is_known(name) && !bound.contains(name));
    unknown.map(str::to_owned)
}

/// Collects the names that `all`, `exists`, `map` and their like give to the elements.
fn collect<'a>(expression: &'a Expression, bound: &mut Vec<&'a str>) {
    match &expression.expr {
        Expr::Call(call) => {
            call.target.iter().for_each(|target| collect(target, bound));
            call.args.iter().for_each(|argument| collect(argument, bound));
        }
        Expr::Comprehension(each) => {
            bound.push(&each.iter_var);
            bound.extend(each.iter_var2.as_deref());
            bound.push(&each.accu_var);
            let parts = [&each.iter_range, &each.accu_init, &each.loop_cond, &each.loop_step];
            parts.into_iter().for_each(|part| collect(part, bound));
            collect(&each.result, bound);
        }
        Expr::List(list) => list.elements.iter().for_each(|element| collect(element, bound)),
        Expr::Map(map) => {
            for entry in &map.entries {
                match &entry.expr {
                    EntryExpr::StructField(field) => collect(&field.value, bound),
                    EntryExpr::MapEntry(entry) => {
                        collect(&entry.key, bound);
                        collect(&entry.value, bound);
                    }
                }
            }
        }
        Expr::Select(select) => collect(&select.operand, bound),
        Expr::Struct(_) | Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => {}
    }
}
