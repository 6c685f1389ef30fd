//! [`AskedTool`]: the tool that a request is about.

use std::fmt;

/// Between a server and its tool.
const TOOL: &str = ": ";

/// The tool that a request is about. For the person and on record it is a line of text, which is
/// written and read here alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AskedTool {
    /// As Codex names one: by its MCP server, whose name has nothing in it that divides the two.
    OfServer { server: String, tool: String },
    /// By the one name that Claude has for it.
    Named(String),
}

impl AskedTool {
    /// A server's tool. The server's name is the configuration's, the tool's the server's own.
    pub fn of_server(server: &str, tool: &str) -> Self {
        let server = match server.contains(TOOL) {
            true => server.replace(' ', "_"),
            false => server.to_owned(),
        };
        let tool = tool.to_owned();
        Self::OfServer { server, tool }
    }
}

impl From<&str> for AskedTool {
    fn from(line: &str) -> Self {
        match line.split_once(TOOL) {
            Some((server, tool)) => Self::OfServer {
                server: server.to_owned(),
                tool: tool.to_owned(),
            },
            None => Self::Named(line.to_owned()),
        }
    }
}

impl fmt::Display for AskedTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OfServer { server, tool } => write!(f, "{server}{TOOL}{tool}"),
            Self::Named(name) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_tool_is_the_line_that_records_have_of_it() {
        for (tool, line) in [
            (AskedTool::of_server("linear", "list"), "linear: list"),
            (AskedTool::of_server("linear", "a: b"), "linear: a: b"),
            (
                AskedTool::Named("mcp__linear__list".to_owned()),
                "mcp__linear__list",
            ),
            (AskedTool::Named(String::new()), ""),
        ] {
            assert_eq!(tool.to_string(), line);
            assert_eq!(AskedTool::from(line), tool);
        }
    }

    const HOSTILE: &str = "(contextrelay|: |:| |[a-z_]{0,3}){0,5}";

    proptest! {
        #[test]
        fn no_line_is_changed_by_reading_it(line in HOSTILE) {
            prop_assert_eq!(AskedTool::from(line.as_str()).to_string(), line);
        }

        #[test]
        fn no_name_of_a_server_or_a_tool_is_read_for_another_servers(
            server in HOSTILE,
            tool in HOSTILE,
        ) {
            let asked = AskedTool::of_server(&server, &tool);
            prop_assert_eq!(AskedTool::from(asked.to_string().as_str()), asked);
        }
    }
}
