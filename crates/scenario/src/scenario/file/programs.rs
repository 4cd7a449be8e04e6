//! Programs at the hosts of a flow.

use super::error::ScenarioError;
use super::flow::FileFlow;
use super::keys::{Inline, keys};
use super::reader::{At, Reader};
use super::table::Table;
use super::value::{Sysctls, words};
use crate::scenario::spec::{Listens, Programs, SchemeChoice};

keys! {
    /// Programs of the user's.
    FilePrograms: "flow.programs" of Programs = Programs::new();
    /// program of the sending host, with its arguments, in place of the flow's data:
    /// `["iperf3", "-c", "{address}", "-p", "{port}"]`. An empty list runs nothing
    sender: Vec<String>, default "sends bulk data, or the flow's `bytes`, `limited`, `on_off`";
    /// program of the receiving host, with its arguments
    receiver: Vec<String>, default "reads all data";
    /// the program that is started before the run begins; the other one starts at `start`
    listens: Listens => listens;
    /// files and folders of this machine that both hosts have: `"FILE"` or `"FILE:PLACE"`
    files: Vec<String>;
    /// a folder that is the whole file system of both hosts
    root: String, default "the programs, and the libraries that they need";
    /// variables in the programs' environment: `{ LANG = "C" }`
    environment: Sysctls;
}

words! {
    Listens {
        "receiver" => Listens::Receiver,
        "sender" => Listens::Sender,
        "neither" => Listens::Neither,
    }
}

/// Returns the texts of a list.
fn texts(written: &Option<At<Vec<At<String>>>>) -> Option<Vec<String>> {
    let list = &written.as_ref()?.value;
    Some(list.iter().map(|text| text.value.clone()).collect())
}

impl Inline for Programs {
    type File = FilePrograms;

    fn finish(
        &mut self,
        reader: &Reader<'_>,
        written: &At<FilePrograms>,
    ) -> Result<(), ScenarioError> {
        let file = &written.value;
        (self.sender, self.receiver) = (texts(&file.sender), texts(&file.receiver));
        if self.sender.is_none() && self.receiver.is_none() {
            let message = "programs has neither a sender nor a receiver";
            return reader.fail(
                written,
                message,
                "write sender = [\"iperf3\", \"-c\", \"{address}\"]",
            );
        }
        self.files = texts(&file.files).unwrap_or_default();
        self.root = file.root(reader)?.map(|root| reader.find(&root).into());
        if let Some(variables) = file.environment(reader)? {
            let is_wrong = |name: &&String| name.is_empty() || name.contains(['=', '\0']);
            if let Some(name) = variables.0.keys().find(is_wrong) {
                let message = format!("`{name}` cannot be the name of a variable");
                return reader.fail(&file.environment, message, "write { LANG = \"C\" }");
            }
            self.environment = variables.0;
        }
        let mut all = self.sender.iter().chain(&self.receiver).chain([&self.files]).flatten();
        if all.any(|text| text.contains('\0')) {
            let message = "a program, an argument or a file has a zero byte in it";
            return reader.fail(written, message, "leave it out");
        }
        self.folder = reader.folder.map(Into::into);
        Ok(())
    }

    fn write_rest(&self, table: &mut Table) -> Result<(), ScenarioError> {
        table.put_field("sender", self.sender.clone(), None)?;
        table.put_field("receiver", self.receiver.clone(), None)?;
        table.put_field("files", Some(self.files.clone()), Some(Vec::new()))?;
        let root = self.root.as_ref().map(|root| root.display().to_string());
        table.put_field("root", root, None)?;
        if !self.environment.is_empty() {
            table.put("environment", &Sysctls(self.environment.clone()))?;
        }
        Ok(())
    }
}

impl Reader<'_> {
    /// Returns the programs of a flow, whose ends are those of `scheme`.
    pub(super) fn programs(
        &self,
        file: &FileFlow,
        scheme: &SchemeChoice,
    ) -> Result<Option<Programs>, ScenarioError> {
        let programs = file.programs(self)?;
        let runs_programs = matches!(scheme, SchemeChoice::Transport(it) if it.runs_programs());
        if programs.is_none() || runs_programs {
            return Ok(programs);
        }
        let message = "programs run at hosts, and the flow has none";
        self.fail(&file.programs, message, "write host = \"linux\" and cc in place of scheme")
    }
}
