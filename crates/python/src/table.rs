//! Tables as Arrow, handed over through the PyCapsule interface: a consumer shares our memory, nothing is copied.

use std::ffi::CStr;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::ffi::FFI_ArrowSchema;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

const STREAM: &CStr = c"arrow_array_stream";
const SCHEMA: &CStr = c"arrow_schema";

/// A table of columns in memory.
#[pyclass(frozen, module = "rocm_perf._rocm_perf")]
pub struct ArrowTable(RecordBatch);

#[pymethods]
impl ArrowTable {
    /// The table as a stream of one batch; a requested schema is not followed, as the protocol allows.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches = RecordBatchIterator::new([Ok(self.0.clone())], self.0.schema());
        let reader: Box<dyn RecordBatchReader + Send> = Box::new(batches);
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), STREAM)
    }

    /// Names and types of the columns.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(&*self.0.schema());
        let schema = schema.map_err(|error| PyValueError::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, SCHEMA)
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    /// Names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.0.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Type of each column, in Arrow's words.
    #[getter]
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let schema = PyDict::new(py);
        for field in self.0.schema().fields() {
            schema.set_item(field.name(), field.data_type().to_string())?;
        }
        Ok(schema)
    }

    /// Bytes of memory that the columns take.
    #[getter]
    fn nbytes(&self) -> usize {
        self.0.get_array_memory_size()
    }

    /// Address of each column's values, to check that they were not copied.
    fn addresses<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let addresses = PyDict::new(py);
        for (field, column) in self.0.schema().fields().iter().zip(self.0.columns()) {
            let data = column.to_data();
            let address = data.buffers().first().map(|buffer| buffer.as_ptr() as usize);
            addresses.set_item(field.name(), address)?;
        }
        Ok(addresses)
    }

    /// The columns with these names, without copies.
    fn select(&self, names: Vec<String>) -> PyResult<Self> {
        let schema = self.0.schema();
        let place = |name: &String| {
            schema.index_of(name).map_err(|_| {
                let known = schema.fields().iter().map(|field| field.name().as_str()).collect::<Vec<_>>();
                PyValueError::new_err(format!("there is no column `{name}`; there are {}", known.join(", ")))
            })
        };
        let places = names.iter().map(place).collect::<PyResult<Vec<_>>>()?;
        let projected = self.0.project(&places).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self(projected))
    }

    /// Rows from `start` to before `end`, without copies.
    fn slice(&self, start: usize, end: usize) -> Self {
        let start = start.min(self.0.num_rows());
        Self(self.0.slice(start, end.clamp(start, self.0.num_rows()) - start))
    }
}

impl ArrowTable {
    pub fn of(batch: RecordBatch) -> Self {
        Self(batch)
    }
}

/// A batch from columns of one length.
pub fn batch_of(columns: Vec<(&'static str, Arc<dyn Array>)>) -> Option<RecordBatch> {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
        .ok()
}
