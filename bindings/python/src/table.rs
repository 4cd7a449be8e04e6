//! Tables in Arrow's memory layout, which polars, pyarrow, pandas, DuckDB and others use without
//! copying, through Arrow's PyCapsule interface.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, ListArray, RecordBatch,
    RecordBatchIterator, RecordBatchOptions, StringArray, StructArray, UInt64Array,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, Field, Fields, Schema};
use paceline_sweep::Values;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use serde::Serialize;

use crate::value::Value;

/// A table in Arrow's layout.
#[pyclass(frozen, name = "Table", module = "paceline._native")]
pub(crate) struct PyTable {
    batch: RecordBatch,
}

impl PyTable {
    /// Returns a table of rows, each a JSON object. The objects' fields are the columns; a nested
    /// object becomes a column of structures.
    ///
    /// # Errors
    /// A row cannot be written as JSON.
    pub(crate) fn of<R: Serialize>(rows: &[R]) -> PyResult<PyTable> {
        let text = serde_json::to_string(rows);
        PyTable::parse(&text.map_err(|error| PyValueError::new_err(error.to_string()))?)
    }

    /// Returns the table of the text of a list of such objects.
    ///
    /// # Errors
    /// The text is not such a list.
    pub(crate) fn parse(text: &str) -> PyResult<PyTable> {
        let rows: Vec<Value> = serde_json::from_str(text)
            .map_err(|error| PyValueError::new_err(format!("no list of rows: {error}")))?;
        let rows: Vec<Option<&Value>> = rows.iter().map(Some).collect();
        PyTable::from_columns(columns(&rows), rows.len())
    }

    /// Returns a table of columns of numbers, which it takes over.
    ///
    /// # Errors
    /// The columns have different lengths.
    pub(crate) fn of_numbers(columns: Vec<(String, Vec<f64>)>) -> PyResult<PyTable> {
        let rows = columns.first().map_or(0, |(_, values)| values.len());
        let column = |(name, values): (String, Vec<f64>)| {
            let array: ArrayRef = match values.iter().any(|value| value.is_nan()) {
                false => Arc::new(Float64Array::from(values)),
                // NaN becomes a missing value.
                true => Arc::new(Float64Array::from_iter(
                    values.into_iter().map(|value| (!value.is_nan()).then_some(value)),
                )),
            };
            (name, array)
        };
        PyTable::from_columns(columns.into_iter().map(column).collect(), rows)
    }

    /// Returns the table of a sweep, whose columns have equal types in all tables.
    ///
    /// # Errors
    /// The columns have different lengths.
    pub(crate) fn of_sweep(table: paceline_sweep::Table) -> PyResult<PyTable> {
        let rows = table.rows();
        let column = |column: paceline_sweep::Column| {
            let array: ArrayRef = match column.values {
                Values::Whole(values) => Arc::new(Int64Array::from(values)),
                Values::Number(values) => Arc::new(Float64Array::from(values)),
                Values::Text(values) => Arc::new(StringArray::from(values)),
            };
            (column.name, array)
        };
        PyTable::from_columns(table.columns.into_iter().map(column).collect(), rows)
    }

    fn from_columns(columns: Vec<(String, ArrayRef)>, rows: usize) -> PyResult<PyTable> {
        let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Fields>()));
        let arrays = columns.into_iter().map(|(_, array)| array).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(schema, arrays, &options);
        Ok(PyTable { batch: batch.map_err(|error| PyValueError::new_err(error.to_string()))? })
    }
}

#[pymethods]
impl PyTable {
    /// Returns the table of the text of a list of JSON objects.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<PyTable> {
        PyTable::parse(text)
    }

    /// Returns Arrow's stream of this table: see Arrow's PyCapsule interface.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets a producer ignore the requested layout.
        drop(requested_schema);
        let batches: Vec<Result<RecordBatch, ArrowError>> = vec![Ok(self.batch.clone())];
        let reader = RecordBatchIterator::new(batches, self.batch.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new(py, stream, Some(c"arrow_array_stream".to_owned()))
    }

    /// Returns Arrow's schema of this table.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.batch.schema().as_ref())
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        PyCapsule::new(py, schema, Some(c"arrow_schema".to_owned()))
    }

    /// Returns the names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Returns the values of a column as a list of Python values.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Vec<Bound<'py, PyAny>>> {
        match self.batch.column_by_name(name) {
            Some(array) => (0..array.len()).map(|row| cell(py, array.as_ref(), row)).collect(),
            None => Err(PyKeyError::new_err(format!(
                "there is no column {name}; the columns are {}",
                self.column_names().join(", ")
            ))),
        }
    }

    /// Returns the table with each field of a column of structures as a column of its own, called
    /// `column.field`.
    fn flattened(&self) -> PyResult<PyTable> {
        let mut columns = Vec::new();
        for (field, array) in self.batch.schema().fields().iter().zip(self.batch.columns()) {
            flatten(field.name(), array, &mut columns);
        }
        PyTable::from_columns(columns, self.batch.num_rows())
    }

    /// Returns the first `rows` rows, without a copy.
    fn first(&self, rows: usize) -> PyTable {
        PyTable { batch: self.batch.slice(0, rows.min(self.batch.num_rows())) }
    }

    /// Returns the number of rows.
    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }
}

/// Returns the columns of JSON rows, in the order in which their names first occur.
fn columns(rows: &[Option<&Value>]) -> Vec<(String, ArrayRef)> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in rows.iter().flatten().flat_map(|row| row.fields()) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let cells = |name: &str| -> Vec<Option<&Value>> {
        rows.iter().map(|row| row.and_then(|row| row.get(name))).collect()
    };
    names.into_iter().map(|name| (name.to_string(), array(&cells(name)))).collect()
}

/// Returns one column. The first value that is not null determines its type. A column with only
/// nulls becomes one of numbers, because every field that can be null is a number.
fn array(cells: &[Option<&Value>]) -> ArrayRef {
    let known = || cells.iter().flatten().filter(|value| ***value != Value::Null);
    match known().next() {
        Some(Value::Text(_)) => {
            let text =
                |cell: &Option<&Value>| cell.filter(|v| **v != Value::Null).map(Value::to_string);
            Arc::new(StringArray::from_iter(cells.iter().map(text)))
        }
        Some(Value::Bool(_)) => {
            let yes = |cell: &Option<&Value>| match cell {
                Some(Value::Bool(yes)) => Some(*yes),
                _ => None,
            };
            Arc::new(BooleanArray::from_iter(cells.iter().map(yes)))
        }
        Some(Value::Object(_)) => {
            let columns = columns(cells);
            let fields: Fields = columns.iter().map(field).collect();
            let arrays: Vec<ArrayRef> = columns.into_iter().map(|(_, array)| array).collect();
            let present: Vec<bool> =
                cells.iter().map(|cell| matches!(cell, Some(Value::Object(_)))).collect();
            Arc::new(StructArray::new(fields, arrays, Some(present.into())))
        }
        Some(Value::List(_)) => list(cells),
        Some(Value::Whole(_)) if known().all(|value| matches!(value, Value::Whole(_))) => {
            let whole = |cell: &Option<&Value>| match cell {
                Some(Value::Whole(number)) => Some(*number),
                _ => None,
            };
            Arc::new(UInt64Array::from_iter(cells.iter().map(whole)))
        }
        _ => {
            Arc::new(Float64Array::from_iter(cells.iter().map(|cell| cell.and_then(Value::number))))
        }
    }
}

/// Returns a column of lists, whose elements form a column of their own.
fn list(cells: &[Option<&Value>]) -> ArrayRef {
    let lists: Vec<Option<&[Value]>> =
        cells.iter().map(|cell| cell.and_then(Value::elements)).collect();
    let all: Vec<Option<&Value>> = lists.iter().flatten().copied().flatten().map(Some).collect();
    let values = match all.is_empty() {
        // If all lists are empty, their element type is unknown.
        true => Arc::new(StringArray::from_iter_values(Vec::<String>::new())),
        false => array(&all),
    };
    let lengths = OffsetBuffer::from_lengths(lists.iter().map(|list| list.map_or(0, <[_]>::len)));
    let present: Vec<bool> = lists.iter().map(Option::is_some).collect();
    let item = Arc::new(Field::new("item", values.data_type().clone(), true));
    Arc::new(ListArray::new(item, lengths, values, Some(present.into())))
}

/// Returns the field that describes a column.
fn field((name, array): &(String, ArrayRef)) -> Field {
    Field::new(name, array.data_type().clone(), true)
}

/// Appends a column, or the fields of a column of structures.
fn flatten(name: &str, array: &ArrayRef, columns: &mut Vec<(String, ArrayRef)>) {
    match array.as_struct_opt() {
        Some(structure) => {
            for (field, array) in structure.fields().iter().zip(structure.columns()) {
                flatten(&format!("{name}.{}", field.name()), array, columns);
            }
        }
        None => columns.push((name.to_string(), array.clone())),
    }
}

/// Returns one value.
fn cell<'py>(py: Python<'py>, array: &dyn Array, row: usize) -> PyResult<Bound<'py, PyAny>> {
    if array.is_null(row) {
        return Ok(py.None().into_bound(py));
    }
    if let Some(array) = array.as_string_opt::<i32>() {
        return array.value(row).into_bound_py_any(py);
    }
    if let Some(array) = array.as_primitive_opt::<Float64Type>() {
        return array.value(row).into_bound_py_any(py);
    }
    if let Some(array) = array.as_primitive_opt::<UInt64Type>() {
        return array.value(row).into_bound_py_any(py);
    }
    if let Some(array) = array.as_primitive_opt::<Int64Type>() {
        return array.value(row).into_bound_py_any(py);
    }
    if let Some(array) = array.as_boolean_opt() {
        return array.value(row).into_bound_py_any(py);
    }
    if let Some(array) = array.as_list_opt::<i32>() {
        let values = array.value(row);
        let values = (0..values.len()).map(|at| cell(py, values.as_ref(), at));
        return values.collect::<PyResult<Vec<_>>>()?.into_bound_py_any(py);
    }
    let object = PyDict::new(py);
    if let Some(array) = array.as_struct_opt() {
        for (field, column) in array.fields().iter().zip(array.columns()) {
            object.set_item(field.name(), cell(py, column.as_ref(), row)?)?;
        }
    }
    Ok(object.into_any())
}
